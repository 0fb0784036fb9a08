"""The hard deny list: names of files and folders that no setting brings into an index."""

from __future__ import annotations

import re

# fmt: off
_DENIED_FOLDERS = frozenset({
    "node_modules", "jspm_packages", "bower_components", "vendor", ".venv", "venv",  # dependencies
    ".git", ".hg", ".svn",  # version control
    "dist", "build", "out", "target", "__pycache__", ".next", ".nuxt",  # build artifacts
    ".idea", ".vscode",  # settings of editors
    "coverage", ".nyc_output", ".pytest_cache",  # what tests leave behind
    ".please", ".cortex",  # catalogues and chunk files, which Findspot generates
})
_DENIED_NAMES = frozenset({
    "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Gemfile.lock", "poetry.lock", ".DS_Store",
    ".git",  # in a submodule or worktree it is a file that points to the repository
})
# fmt: on
BUILD_FOLDERS = frozenset({"dist", "build", "out", "target"})
"""Folders that builds write: not part of a project, but what a published package may consist of."""
_DENIED_ENDINGS = frozenset({".log", ".lock", ".swp", ".swo"})
_DENIED_NAMES_LOWER = frozenset(name.lower() for name in _DENIED_NAMES)

# Secret files, in small letters: they are denied in any case.
# fmt: off
_SECRET_NAMES = frozenset({
    ".env", ".envrc", ".flaskenv", ".dev.vars", ".secrets",
    "env.production", "env.prod", "env.staging", "env.development", "env.dev", "env.local",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
    "private_key", "private-key", "privatekey", "private_key.txt", "private-key.txt", "privatekey.txt",
    ".netrc", "_netrc", ".git-credentials", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".htpasswd",
    ".htdigest", ".dockercfg", ".dockerconfigjson", "kubeconfig", ".pypirc", ".s3cfg", ".boto", "rclone.conf",
    "kubeconfig.yml", "kubeconfig.yaml", ".databrickscfg", ".msmtprc", ".fetchmailrc", ".offlineimaprc",
    ".authinfo", ".smbcredentials", ".cvspass", "sftp-config.json",
    ".terraformrc", "terraform.rc", "credentials.tfrc.json",
    "secrets.json", "secrets.toml", "secret.json", "secret.toml",
    "credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.xml",
    "credentials.csv", "client_secret.json", "client_secrets.json", "application_default_credentials.json",
    "service-account.json", "service_account.json", "serviceaccount.json", "service-account-key.json",
    "service_account_key.json", "serviceaccountkey.json", "gcp-credentials.json", "gcloud-service-key.json",
    "accesstokens.json", "msal_token_cache.json", ".vault-token", ".vault_pass", ".vault-password",
    "vault_pass.txt",
    ".bash_history", ".zsh_history", ".sh_history", ".psql_history", ".mysql_history", ".rediscli_history",
    ".python_history", ".node_repl_history", ".irb_history", ".sqlite_history", ".mongo_history",
})
_HELM = ("secret.yml", "secret.yaml", "secrets.yml", "secrets.yaml")
"""Secret files too, but for those in a folder `templates`: they refer to values that are elsewhere."""
_SECRET_STARTS = {
    ".env.": ".env.", ".env-": ".env-", ".env_": ".env_", ".envr": ".envrc.",
    "terra": "terraform.tfstate", "clien": "client_secret_",
}
"""First five characters → the whole beginning: one lookup instead of five comparisons per file."""
_SECRET_ENDINGS = frozenset({
    ".env", ".pem", ".key", ".p12", ".pfx", ".p8", ".ppk", ".jks", ".keystore", ".keytab", ".kdbx",
    ".kubeconfig", ".tfstate", ".tfvars",
})
_SECRET_DOUBLE_ENDINGS = {
    ".json": ".tfvars.json", ".yml": ".secrets.yml", ".yaml": ".secrets.yaml",
}
"""Last ending → both."""
_SECRET_PATHS = (
    "/.docker/config.json", "/.kube/config", "/.oci/config", "/.cargo/credentials.toml", "/gh/hosts.yml",
    "/.m2/settings.xml", "/.kaggle/kaggle.json", "/.composer/auth.json", "/.dbt/profiles.yml",
    "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-",
)
"""Files that hold credentials in their folder; elsewhere, the name is an ordinary one."""
_SECRET_BY_FOLDER = frozenset({*_HELM, *(path.rpartition("/")[2] for path in _SECRET_PATHS)})
_COPY_ENDINGS = frozenset({
    ".bak", ".backup", ".bck", ".bkp", ".old", ".orig", ".original", ".save", ".saved", ".copy",
    ".tmp", ".temp", ".rej", ".swp", ".swo", ".swn", ".1", ".2", ".rpmsave", ".dpkg-old",
})
"""What editors, tools and people add to the name of a file for a copy, which is as secret as the file."""
_COPY_MARKS = "~#"
_COPY_WORDS = re.compile(r"(?:(?: -)? copy(?: \d+)?| \(\d+\))(?=\.\w+$|$)")
"""`.env copy`, `.env (1)`, `credentials copy 2.json`."""
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".env", ".secrets"})
_SECRET_FOLDER_ENDINGS = frozenset({".pem", ".key", ".p12", ".pfx"})
# fmt: on


def is_denied(name: str, folder: bool, ignore_case: bool = False, prefix: str = "") -> bool:
    """Tell whether the hard deny list holds a cleaned name; secrets are denied in any case.

    `prefix` is the path of the folder that the name is in, with a slash at its end: some names are secret
    only in a certain folder.
    """
    lower = name.lower()
    ending = lower[lower.rfind(".") :]
    if _is_secret_folder(lower, ending) if folder else _is_secret_file(lower, ending, prefix):
        return True
    if ignore_case:
        names = _DENIED_NAMES_LOWER
    else:
        lower, ending, names = name, name[name.rfind(".") :], _DENIED_NAMES
    return ending in _DENIED_ENDINGS or lower in names or (folder and lower in _DENIED_FOLDERS)


def is_secret_path(path: str) -> bool:
    """Tell whether a file's path has the name of a secret file, or leads through a folder of secrets."""
    *folders, name = path.lower().split("/")
    if any(_is_secret_folder(folder, folder[folder.rfind(".") :]) for folder in folders):
        return True
    return _is_secret_file(name, name[name.rfind(".") :], "/".join((*folders, "")))


def _is_secret_file(lower: str, ending: str, prefix: str) -> bool:
    if ending in _COPY_ENDINGS or lower[-1:] in _COPY_MARKS:
        return _is_copy_of_secret(lower, ending, prefix)
    if " " in lower and (original := _COPY_WORDS.sub("", lower)) != lower:
        return _is_secret_file(original, original[original.rfind(".") :], prefix)
    if lower in _SECRET_BY_FOLDER:
        path = f"/{prefix}{lower}".lower()
        return path.endswith(_SECRET_PATHS) or (lower in _HELM and not path.endswith(f"/templates/{lower}"))
    return (
        ending in _SECRET_ENDINGS
        or lower in _SECRET_NAMES
        or (lower[:5] in _SECRET_STARTS and lower.startswith(_SECRET_STARTS[lower[:5]]))
        or (ending in _SECRET_DOUBLE_ENDINGS and lower.endswith(_SECRET_DOUBLE_ENDINGS[ending]))
    )


def _is_copy_of_secret(lower: str, ending: str, prefix: str) -> bool:
    """Tell whether a name is that of a secret file, once what a copy adds to it is taken away."""
    shorter = lower.removesuffix(ending) if ending in _COPY_ENDINGS else lower.rstrip(_COPY_MARKS)
    names = {shorter, shorter.removeprefix("."), shorter.lstrip(_COPY_MARKS), shorter.removeprefix(".#")}
    return any(name and _is_secret_file(name, name[name.rfind(".") :], prefix) for name in names)


def _is_secret_folder(lower: str, ending: str) -> bool:
    return ending in _SECRET_FOLDER_ENDINGS or lower in _SECRET_FOLDERS or lower.startswith(".env.")
