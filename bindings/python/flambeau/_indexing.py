def get(t, i): raise NotImplementedError
def put(t, i, v): raise NotImplementedError
