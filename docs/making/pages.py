"""Which pages of the site are generated, and by which function?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from docs.making.catalogues import catalogue_page, configuration_page, limits_page
from docs.making.checks import checks_page
from docs.making.citation import citation_page
from docs.making.claims import claims_page
from docs.making.gallery import schemes_page
from docs.making.interfaces import MODULES, commands_page, formats_page, python_page

PAGES: Mapping[str, Callable[[], str]] = {
    "schemes.md": schemes_page,
    "claims.md": claims_page,
    "checks.md": checks_page,
    "catalogue.md": catalogue_page,
    "configuration.md": configuration_page,
    "limits.md": limits_page,
    "commands.md": commands_page,
    "formats.md": formats_page,
    "cite.md": citation_page,
    **{f"python/{module.rpartition('.')[2]}.md": partial(python_page, module) for module in MODULES},
}
"""The generated pages by their place on the site."""
