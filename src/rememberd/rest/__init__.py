"""Programs: JSON over HTTP. Now the owner's own interface on the local socket."""
