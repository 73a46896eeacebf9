"""Django's settings, from the environment (`console/env.py`); nothing here needs a file to be edited."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import dj_database_url

from console import env

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.data_folder(os.environ, BASE_DIR)
CONSOLE_DIR = DATA_DIR / "console"
SECRET_KEY = env.secret_key(os.environ, CONSOLE_DIR)
DEBUG = env.flag(os.environ, "HIGHWATER_DEBUG")

CONSOLE_PORT = env.port(os.environ, "HIGHWATER_CONSOLE_PORT", 8000)
BOOTSTRAP_SERVERS = env.bootstrap_servers(os.environ)
ZOOKEEPER = env.zookeeper(os.environ)
REDIS_URL = env.redis_url(os.environ, DATA_DIR)
LOCAL_CLUSTER = "local"
LOCAL_PROCESSES = env.flag(os.environ, "HIGHWATER_LOCAL_PROCESSES", default=True)
SPARK_CHECKPOINTS = env.folders(os.environ, "HIGHWATER_SPARK_CHECKPOINTS")
OWN_CHECKPOINTS = {"highwater-analytics": CONSOLE_DIR / "analytics" / "store" / "checkpoint"}
SPARK_MASTER = env.text(os.environ, "HIGHWATER_SPARK_MASTER", "local[1]")
ANALYTICS_EVERY = env.minutes(os.environ, "HIGHWATER_ANALYTICS_MINUTES", 15)
ANALYTICS_MODE = env.one_of(os.environ, "HIGHWATER_ANALYTICS_MODE", ("interval", "continuous"))
REPORT_HOUR = env.hour(os.environ, "HIGHWATER_REPORT_HOUR", 6)
TRUSTED_PROXIES = env.networks(os.environ, "HIGHWATER_TRUSTED_PROXIES")
HISTORY_HOURS = env.count(os.environ, "HIGHWATER_HISTORY_HOURS", 24)
HISTORY_MB = env.count(os.environ, "HIGHWATER_HISTORY_MB", 500)
ASK_EVERY_S = env.seconds(os.environ, "HIGHWATER_ASK_SECONDS", 5)
REPLICAS_WARN = env.count(os.environ, "HIGHWATER_REPLICAS_WARN", 4_000)
RECORDS_AT_ONCE = env.count(os.environ, "HIGHWATER_RECORDS_AT_ONCE", 4) or 1
RECORDS_BYTES_PER_S = (env.count(os.environ, "HIGHWATER_RECORDS_MB_PER_S", 200) or 1_000_000) * 1_000_000
ALERTS_PRIVATE = env.flag(os.environ, "HIGHWATER_ALERTS_PRIVATE")
METRICS_OPEN = env.flag(os.environ, "HIGHWATER_METRICS_OPEN")
METRICS_TOKEN = env.metrics_token(os.environ)

LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ORIGINS = env.origins(os.environ, "HIGHWATER_ORIGINS")
ALLOWED_HOSTS = [*LOOPBACK_HOSTS, *env.hosts(ORIGINS), *env.names(os.environ, "HIGHWATER_HOSTS")]
CSRF_TRUSTED_ORIGINS = ORIGINS
WEBSOCKET_ORIGINS = [*(f"http://{host}:{CONSOLE_PORT}" for host in LOOPBACK_HOSTS), *ORIGINS]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = bool(ORIGINS) and all(origin.startswith("https://") for origin in ORIGINS)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "console.apps.ConsoleConfig",
]
MIDDLEWARE = [
    "console.tally.counted",
    "django.middleware.security.SecurityMiddleware",
    "console.addressing.within_cluster",
    "console.looking_back.at_moment",
    "console.middleware.security_headers",
    "console.middleware.api_problems",
    "console.views.errors.not_allowed_pages",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "console.api.once.finish_answers",
]
ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"
BUILTIN_TAGS = ("addresses", "figures", "times", "states", "rows", "fields", "records", "stale")
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "builtins": [f"console.templatetags.{name}" for name in BUILTIN_TAGS],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.context.console",
            ],
        },
    }
]

DATABASES = {"default": dj_database_url.parse(env.secret(os.environ, "DATABASE_URL", f"sqlite:///{CONSOLE_DIR / 'db.sqlite3'}"))}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
    DATABASES["default"]["TEST"] = {"NAME": str(Path(tempfile.gettempdir()) / f"highwater-test-{os.getpid()}.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "highwater-sessions"},
    }
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
CSRF_FAILURE_VIEW = "console.views.errors.forbidden"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "overview"
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "kafka": {"level": "CRITICAL"},
        "kazoo": {"level": "WARNING"},
        "fontTools": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
    },
}
