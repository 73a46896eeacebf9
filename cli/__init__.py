"""The command `highwater`: what runs here (`broker_core.cli`), and everything else by asking the console's REST."""
