# %% [markdown]
# # Attention in a sliding window
# With this page you can put a kernel of your own into a PyTorch module and train it. Each position attends to
# itself and the W - 1 before it; `bias` is learned for each head and distance. Neither the program nor its
# gradient has a mask or a matrix of all pairs. The module learns to add the values 5 and 11 places earlier.

# %%
import timeit

import torch
from matplotlib import pyplot as plt

import tadc

attention = tadc.function("""
q: f32[H, N, D]; k: f32[H, N, D]; v: f32[H, N, D]; bias: f32[H, W]
let s[h, i: N, w: W] = if {w <= i} then (bias[h, w] + sum{d} (q[h, i, d] * k[h, i - w, d]) / sqrt(D)) else (0)
let p[h, i: N, w: W] = if {w <= i} then (exp(s[h, i, w] - logsumexp{o: W: o <= i} (s[h, i, o]))) else (0)
y[h, i: N, d] = sum{w: W: w <= i} (p[h, i, w] * v[h, i - w, d])
""")
print(tadc.vjp(attention))


# %%
class Local(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = torch.nn.Linear(1, 48), torch.nn.Linear(16, 1)
        self.attend = attention.torch.module(bias=torch.zeros(2, 16))

    def forward(self, x):
        heads = self.enter(x[:, None]).view(-1, 3, 2, 8).permute(1, 2, 0, 3)  # q, k and v
        return self.leave(self.attend(*heads).transpose(0, 1).flatten(1))[:, 0]


torch.manual_seed(0)
model, losses = Local(), []
optimiser = torch.optim.Adam(model.parameters(), 0.05)
for x in torch.randn(120, 256):
    losses.append((model(x)[11:] - x[6:-5] - x[:-11]).square().mean())
    optimiser.zero_grad()
    losses[-1].backward()
    optimiser.step()
assert losses[-1] < 0.02 < 1 < losses[0]

# %% [markdown]
# In PyTorch, biases in a mask select among all pairs. Gradients of both are compared, and timed.

# %%
w = torch.arange(512)[:, None] - torch.arange(512)
mask = lambda bias: bias[:, w.clamp(0, 63)].masked_fill((w < 0) | (w > 63), -torch.inf)
dense = lambda q, k, v, bias: torch.nn.functional.scaled_dot_product_attention(q, k, v, mask(bias))
inputs = [torch.randn(shape, requires_grad=True) for shape in [(2, 512, 32)] * 3 + [(2, 64)]]
gradients = lambda function: torch.autograd.grad(function(*inputs).square().sum(), inputs)
ways = {"tadc": lambda: gradients(attention.torch), "PyTorch": lambda: gradients(dense)}
torch.testing.assert_close(ways["tadc"](), ways["PyTorch"](), atol=1e-3, rtol=1e-4)
times = {name: min(timeit.repeat(way, number=1, repeat=20)) for name, way in ways.items()}
figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
axis.bar(range(16), model.attend.bias.detach().softmax(1).mean(0))
axis.set(title="attention learned", xlabel="places before", xticks=range(16))
