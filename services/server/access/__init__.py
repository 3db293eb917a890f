"""Access to a server: TLS, who calls (a token or a certificate), what the caller may do, and which tools exist for it."""
