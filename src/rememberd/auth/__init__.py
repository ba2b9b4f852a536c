"""Who may do what: keys and scopes now, the OAuth authorization server beside them later."""
