"""Studies and training: how published figures and shipped models were made. Outside the product's install; see README.md."""
