import logging
import os

from fastapi import FastAPI, Request
from opentelemetry import trace

app = FastAPI()
logger = logging.getLogger("app")

if "APITALLY_WRITE_TOKEN" in os.environ:
    import apitally.fastapi
    from apitally import set_consumer

    apitally.fastapi.init(app, env="prod")
else:
    set_consumer = None


@app.middleware("http")
async def identify(request: Request, call_next):
    user = request.headers.get("x-user")
    if user and set_consumer:
        set_consumer(user)
    elif user:
        trace.get_current_span().set_attribute("user.id", user)
    return await call_next(request)


@app.get("/users/{id}")
async def get_user(id: str):
    with trace.get_tracer("app").start_as_current_span("load user"):
        logger.warning("loading %s", id)
    return {"id": id}


@app.post("/users", status_code=201)
async def create_user():
    return {}


@app.get("/boom")
async def boom():
    raise TypeError("no luck")
