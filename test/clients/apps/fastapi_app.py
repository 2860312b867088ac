import importlib.util
import logging
import os

from fastapi import FastAPI, Request
from opentelemetry import trace

app = FastAPI()
logger = logging.getLogger("app")

if importlib.util.find_spec("apitally"):
    import apitally.fastapi
    from apitally import set_consumer

    # The library has an option instead of OpenTelemetry's variable.
    rate = float(os.environ.get("OTEL_TRACES_SAMPLER_ARG", "1"))
    apitally.fastapi.init(app, env="prod", sample_rate=rate)
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
