"""The ASGI application: pages and REST by Django, `/ws/v1/live` by Channels (Origin checked)."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import re_path

http = get_asgi_application()

from console.live.browser.consumer import LiveConsumer  # noqa: E402
from console.live.browser.without_redis import closing_without_redis  # noqa: E402

live = re_path(r"^ws/v1/live$", closing_without_redis(LiveConsumer.as_asgi()))  # type: ignore[arg-type]  # Channels routes no views
websocket = AuthMiddlewareStack(URLRouter([live]))
application = ProtocolTypeRouter({"http": http, "websocket": OriginValidator(websocket, settings.WEBSOCKET_ORIGINS)})
