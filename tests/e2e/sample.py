"""A small project whose answers are known."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "pyproject.toml": '[project]\nname = "shop"\n',
    "src/auth/login.py": '''"""Logging in."""

from auth.session import Session


def verify_password(stored: str, given: str) -> bool:
    """Compare a password with its stored hash in constant time."""
    return hash_password(given) == stored


def login(email: str, password: str) -> Session:
    """Check the credentials of a user and open a session."""
    user = find_user(email)
    if not verify_password(user.password_hash, password):
        raise PermissionError("wrong password")
    return Session(user)
''',
    "src/auth/session.py": '''"""Sessions of users."""


class Session:
    """An authenticated user, until it expires."""

    def __init__(self, user):
        self.user = user
        self.expires_at = None

    def refresh(self):
        """Prolong the session by another hour."""
        self.expires_at = now() + HOUR
''',
    "src/billing/invoice.ts": """/** Invoices of customers. */
export class Invoice {
  constructor(readonly lines: Line[]) {}

  /** The sum of all lines, with tax. */
  total(): number {
    return this.lines.reduce((sum, line) => sum + line.amount * (1 + line.tax), 0);
  }
}
""",
    "src/billing/retry.go": """package billing

// RetryPayment tries a failed payment again, waiting twice as long each time.
func RetryPayment(payment Payment) error {
	for attempt := 0; attempt < 5; attempt++ {
		if err := payment.Charge(); err == nil {
			return nil
		}
		wait(1 << attempt)
	}
	return ErrGaveUp
}
""",
    "tests/test_login.py": '''def test_login_with_a_wrong_password_fails():
    """The credentials of a user are checked."""
    assert login("ada@example.org", "wrong") is None
''',
    "docs/install.md": """# Installation

Run the installer and answer its questions.

## Requirements

A database and two gigabytes of memory.

## Troubleshooting

If the installer cannot reach the database, check the firewall.
""",
    "README.md": "# Shop\n\nA shop that sends invoices and retries failed payments.\n",
}


def make_sample(root: Path) -> Path:
    """Write the project; returns its root as the tools spell it."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root.resolve()


def make_large(root: Path, files: int) -> Path:
    """A project that takes a while to index."""
    functions = "\n\n".join(
        f"def step_{n}(value):\n    total = value * {n}\n    return total + {n}" for n in range(30)
    )
    root.mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text("[project]\n")
    for number in range(files):
        (root / f"module_{number:05}.py").write_text(f"# module {number}\n\n{functions}\n")
    return root.resolve()
