// Starts `tadc lsp`, which answers all that VS Code asks about programs.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const command = vscode.workspace.getConfiguration("tadc").get("command", "tadc");
  client = new LanguageClient(
    "tadc",
    "tadc",
    { command, args: ["lsp"] },
    { documentSelector: [{ language: "tad" }] },
  );
  try {
    await client.start();
  } catch (problem) {
    client = undefined;
    const help = "install it with `pip install 'tadc-compiler[lsp]'`, or set `tadc.command`";
    vscode.window.showErrorMessage(`cannot start \`${command} lsp\`: ${problem.message}; ${help}`);
  }
};

exports.deactivate = () => client?.stop();
