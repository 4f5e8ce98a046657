"""The Python API: functions, their derivatives, what they are lowered and compiled to."""
