"""Questions about the fixture project `shop`, each with the files that answer it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from findspot.core.model import Corpus, IncludeTests

STACK_TRACE = """Checkout fails for every second customer since this morning.

Traceback (most recent call last):
  File "/srv/shop/service/app.py", line 33, in handle
    return handler(request)
  File "/srv/shop/service/orders/checkout.py", line 21, in place_order
    raise EmptyCart("the cart holds no articles")
service.orders.checkout.EmptyCart: the cart holds no articles
"""

ISSUE = """Customers are signed out although they have just signed in

We have had eleven complaints this week from people who sign in, look at two or three pages and are
then asked for their password again. It happens on all browsers. The cookie is there and it is sent
with every request, so I do not think that the front end is to blame. The configuration has not been
touched: the number of hours is still twelve.

What I have found so far: the token is in the table, and the row's time is in the past right from the
start. I suspect that somewhere the lifetime is computed in local time on one side and compared in
another zone on the other, which would explain why only the machines in the new data centre are
affected. Could somebody who knows how a session is opened and loaded please have a look at that?
Restarting the processes does not help. Expected: a customer stays signed in for twelve hours.
"""


@dataclass(frozen=True)
class Case:
    """A query with its options, and the files of which one should come first."""

    name: str
    text: str
    right: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


def case(name: str, text: str, *right: str, **options: Any) -> Case:
    return Case(name, text, right, options)


DOCS = {"corpus": Corpus.DOCS}

GOLDEN = (
    case("symbol", "verify_password", "service/auth/passwords.py"),
    case("symbol_in_other_case", "ratelimiter", "service/limits.py"),
    case("qualified_symbol", "SessionStore.load", "service/auth/sessions.py"),
    case("path", "service/orders/pricing.py", "service/orders/pricing.py"),
    case("file_name", "cartStore.ts", "web/src/cart/cartStore.ts"),
    case("question", "how are passwords hashed", "service/auth/passwords.py"),
    case("name_in_a_sentence", "where does CartStore keep its items", "web/src/cart/cartStore.ts"),
    case("stack_trace", STACK_TRACE, "service/orders/checkout.py"),
    case("issue_text", ISSUE, "service/auth/sessions.py"),
    case("asks_for_tests", "tests for the empty cart", "service/tests/test_checkout.py"),
    case("asks_for_an_example", "example of charging a card", "examples/retry_payment.py"),
    case(
        "without_tests",
        "verify a password against its hash",
        "service/auth/passwords.py",
        include_tests=IncludeTests.NO,
    ),
    case("one_language", "retry later after a failure", "worker/queue.go", languages=("go",)),
    case(
        "one_folder",
        "orders of the customer",
        "android/src/main/java/shop/OrderRepository.java",
        under="android/src/main",
    ),
    case("copies_collapsed", "charge a card and try again after a time-out", "service/payment/gateway.py"),
    case("docs_heading", "connection pool", "docs/configuration.md", **DOCS),
    case("docs_question", "how do I go back to the previous version", "docs/deployment.md", **DOCS),
    case("nothing_fits", "quantum chromodynamics on a lattice"),
    case("docs_nothing_fits", "how do I book a flight to Paris", **DOCS),
)

MORE = (
    case("error_class", "TooManyRequests", "service/limits.py"),
    case("go_function", "Backoff", "worker/backoff.go"),
    case("java_class", "OrderRepository", "android/src/main/java/shop/OrderRepository.java"),
    case("kotlin_class", "AuthenticatedApi", "android/src/main/java/shop/ShopApi.kt"),
    case("sql", "columns of the orders table", "db/schema.sql"),
    case("shell", "delete dumps older than thirty days", "scripts/backup.sh"),
    case("component", "form with which customers sign in", "web/src/components/LoginForm.tsx"),
    case("locked", "account is locked after wrong passwords", "service/auth/login.py"),
    case("tax", "round the gross price to whole cents", "service/orders/pricing.py"),
    case("approval", "second person approves a large refund", "service/orders/refunds.py"),
    case("idle", "connection that was idle for too long is opened again", "service/database.py"),
    case("window", "sliding window of requests for each client", "service/limits.py"),
    case("carrier", "choose the carrier of a country", "worker/shipping.go"),
    case("currency", "format an amount of money for a locale", "web/src/format/money.ts"),
    case("mail", "mail with a link to choose a new password", "service/mail/sender.py"),
    case("jitter", "exponential pause with jitter up to a limit", "worker/backoff.go"),
    case("expired", "sign in again when the token has expired", "android/src/main/java/shop/ShopApi.kt"),
    case("health", "is the database reachable for the balancer", "service/app.py"),
    case("docs_backup", "how long are database dumps kept", "docs/deployment.md", **DOCS),
    case("docs_refund", "refund only some lines of an order", "docs/refunds.md", **DOCS),
    case("docs_start", "how to set it up and run it", "README.md", **DOCS),
    case("docs_session", "how long does a customer stay signed in", "docs/configuration.md", **DOCS),
)
