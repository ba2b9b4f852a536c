"""Pages for people: signing in, consent, connections, memories; the only place that renders HTML.

Every page is complete without JavaScript. Nothing here may decide what somebody is allowed to do:
it asks `auth` and `engine`, and says in plain words what they answered.
"""
