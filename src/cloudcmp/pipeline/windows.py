async def until_open(*a, **k):
    return ""
