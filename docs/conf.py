"""Sphinx configuration: `make docs`. The source directory is the root of the repository.

So README.md, REPLICATION.md and docs/*.md link each other by the same relative paths here and on
GitHub. Pages are plain Markdown; what only the site has (front page, navigation, API lists) is
added by `docs/_site/pages.py` while they are read.
"""

import os
import re
import sys
import tomllib
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import kgl  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY, SITE = PROJECT["urls"]["Source"], PROJECT["urls"]["Documentation"]
OWNER, NAME = REPOSITORY.rsplit("/", 2)[-2:]
#: Set by the workflow that publishes the site: "dev", or a version such as "0.1".
PUBLISHED = os.environ.get("KGL_DOCS_VERSION", "")

kgl_repository = REPOSITORY
project, author = "kgl", "The KGL developers"
project_copyright = "The KGL developers"
version = release = kgl.__version__

extensions = [
    "docs._site.pages",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "REPLICATION.md",
    "SECURITY.md",
    "data/README.md",
]
exclude_patterns = [
    ".*",
    "build",
    "dist",
    "results",
    "docs/_build",
    "docs/_site",
    "docs/_templates",
    "docs/gallery/**/*.ipynb",
    "docs/gallery/**/*.py",
    "docs/gallery/**/*.json",
    "docs/gallery/**/*.md5",
    "docs/gallery/**/*.zip",
]
# absolute, since autosummary looks for relative ones in the source directory
templates_path = [str(ROOT / "docs" / "_templates")]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_fence_as_directive = {"math"}
myst_heading_anchors = 4

# One file without fonts beside it, from a package of the lock; `docs/_site/pages.py` copies it.
mathjax_path = "tex-svg.js"

# `name` in docstrings is code.
default_role = "literal"
autodoc_typehints = "none"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False

# Links to other projects need the network, so they are asked for: KGL_DOCS_INTERSPHINX=1 make docs
if os.environ.get("KGL_DOCS_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "networkx": ("https://networkx.org/documentation/stable", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

html_theme = "pydata_sphinx_theme"
html_title = "kgl"
html_short_title = "kgl"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": "kgl", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "icon_links": [{"name": "Source code", "url": REPOSITORY, "icon": "fa-brands fa-github"}],
    "header_links_before_dropdown": 5,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    # the two of sphinx-gallery are empty on other pages
    "secondary_sidebar_items": ["page-toc", "sg_download_links", "sg_launcher_links"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
if PUBLISHED:
    html_baseurl = f"{SITE}/{PUBLISHED}/"
    html_theme_options["switcher"] = {
        "json_url": f"{SITE}/switcher.json",
        "version_match": PUBLISHED,
    }
    html_theme_options["check_switcher"] = False
    html_theme_options["navbar_start"] = ["navbar-logo", "version-switcher"]

# A warning in an example is a mistake in it or in kgl, unless the example is about the warning.
# Examples run as __main__, and a warning names the line that called.
warnings.filterwarnings("error", module=r"(kgl|pygsp2|sklearn|__main__)(\..*)?")
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": r"plot_\w+\.py$",
    "ignore_pattern": re.escape("__init__.py"),
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "write_computation_times": False,
    "plot_gallery": "True",
    "download_all_examples": True,
    "capture_repr": ("_repr_html_",),
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib", "docs._site.pages.reset"),
    "backreferences_dir": "docs/gallery/backreferences",
    "doc_module": ("kgl",),
    "reference_url": {"kgl": None},
    "inspect_global_variables": False,
    "show_signature": False,
    "nested_sections": False,
    "binder": {
        "org": OWNER,
        "repo": NAME,
        "branch": "gh-pages",
        "binderhub_url": "https://mybinder.org",
        # the second names the Python: Binder's own default may be older than what kgl needs
        "dependencies": [".binder/requirements.txt", ".binder/runtime.txt"],
        "notebooks_dir": "notebooks",
        "filepath_prefix": PUBLISHED or "dev",
        "use_jupyter_lab": True,
    },
}
suppress_warnings = ["config.cache"]
