"""The frames: one module for each class of request, each with ``word(scene) -> str``; a class that cannot be worded raises Unwordable."""
