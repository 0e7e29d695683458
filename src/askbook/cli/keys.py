"""`askbook keys create`, `list` and `revoke`: who may ask the server. Works beside a running one."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from askbook.cli.output import AsJson, DataDir, note, print_json, run, settings_for

if TYPE_CHECKING:
    from askbook.config import Settings
    from askbook.storage.keys import ApiKey

RATE = 100


def register(app: typer.Typer) -> None:
    keys = typer.Typer(
        help="Make, list and revoke the keys that let programs and pages ask.",
        rich_markup_mode=None,
        no_args_is_help=True,
    )
    keys.command("create")(create)
    keys.command("list")(list_keys)
    keys.command("revoke")(revoke)
    app.add_typer(keys, name="keys")


def create(
    name: Annotated[str, typer.Argument(help="Whom or what the key is for.")],
    admin: Annotated[
        bool, typer.Option("--admin", help="It may also ingest and see what readers miss.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Publishable: for a widget on pages of --origin.")
    ] = False,
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", help="Where a publishable key works; several times for several."),
    ] = None,
    book: Annotated[
        list[str] | None,
        typer.Option("--book", help="Only this book; several times for several [default: all]."),
    ] = None,
    tier: Annotated[
        int | None, typer.Option("--tier", help="The highest hardware tier it may read (1-4).")
    ] = None,
    rate: Annotated[
        int, typer.Option("--rate", help="Requests in any 60 seconds.", show_default=True)
    ] = RATE,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Make a key; it is shown this once. Without --admin it may read and chat."""
    wanted: dict[str, Any] = {
        "admin": admin,
        "public": public,
        "origins": origin or [],
        "books": book or [],
        "tier": tier,
        "rate": rate,
    }
    key, secret = run(_create(settings_for(data_dir), name, wanted))
    if as_json:
        print_json(_document(key, secret))
        return 0
    typer.echo(secret)
    note(f"{key.key_id}: {_rights(key)}. The key is not shown again.")
    note("From the first key on, every request needs one, on this machine too.")
    return 0


def list_keys(as_json: AsJson = False, data_dir: DataDir = None) -> int:
    """All keys ever made, without the keys themselves."""
    found = run(_list(settings_for(data_dir)))
    if as_json:
        print_json({"keys": [_document(key) for key in found]})
        return 0
    for key in found:
        typer.secho(f"{key.key_id}  {key.name}", bold=key.revoked_at is None)
        made = f"made {key.created_at:%Y-%m-%d}"
        ended = f", revoked {key.revoked_at:%Y-%m-%d}" if key.revoked_at else ""
        typer.echo(f"  {_rights(key)}; {made}{ended}")
    if not found:
        typer.echo("There is no key yet. Make one with `askbook keys create NAME`.")
    return 0


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, from `keys list`.")],
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """End a key for good; a running server refuses it from the next request on."""
    key = run(_revoke(settings_for(data_dir), key_id))
    if as_json:
        print_json(_document(key))
    else:
        typer.echo(f"{key.key_id}  {key.name}: revoked.")
    return 0


async def _create(settings: "Settings", name: str, wanted: dict[str, Any]) -> "tuple[ApiKey, str]":
    from askbook.bootstrap import open_keys
    from askbook.bootstrap.scope import choose_book

    async with open_keys(settings) as (keys, library):
        shelved = await library.books() if wanted["books"] else []
        for book_id in wanted["books"]:
            choose_book(shelved, book_id)
        return await keys.create(name, **wanted)


async def _list(settings: "Settings") -> "list[ApiKey]":
    from askbook.bootstrap import open_keys

    async with open_keys(settings) as (keys, _):
        return await keys.list()


async def _revoke(settings: "Settings", key_id: str) -> "ApiKey":
    from askbook.bootstrap import open_keys

    async with open_keys(settings) as (keys, _):
        return await keys.revoke(key_id)


def _document(key: "ApiKey", secret: str | None = None) -> dict[str, Any]:
    return {
        "id": key.key_id,
        "name": key.name,
        **({} if secret is None else {"key": secret}),
        "scopes": list(key.scopes),
        "books": None if key.books is None else list(key.books),
        "tier": key.tier,
        "rate": key.rate,
        "public": key.public,
        "origins": list(key.origins),
        "created_at": key.created_at.isoformat(),
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
    }


def _rights(key: "ApiKey") -> str:
    parts = [
        " + ".join(key.scopes),
        "all books" if key.books is None else ", ".join(key.books),
        f"tier {key.tier}" if key.tier else "",
        f"{key.rate} requests a minute",
        f"publishable for {', '.join(key.origins)}" if key.public else "",
    ]
    return "; ".join(part for part in parts if part)
