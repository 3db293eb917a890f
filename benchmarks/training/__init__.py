"""How the shipped encoders are made: the export of the published model, the training, and the export of the trained one."""
