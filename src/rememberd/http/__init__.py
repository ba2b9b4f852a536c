"""The edge that every HTTP request enters by: who asks, whether it may come in, where it goes.

It must hold no rule about memories, keys or scopes: it passes on what the layers below decide.
"""
