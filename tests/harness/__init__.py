"""What tests stand on: stores that are built once a run, servers in this process, scripted models, the mock company, and the command."""
