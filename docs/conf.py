"""How Sphinx builds these pages: `make docs`, offline, warnings are errors. The pages load nothing from a network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import foldless

project = "foldless"
author = "The foldless developers"
copyright = author
version = release = foldless.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "mathml",
    "results_pages",
]
exclude_patterns = ["_build", "_tools", "gallery/*.ipynb", "gallery/*.py", "gallery/*.zip"]
templates_path = ["_templates"]
nitpicky = True
# Several classes have attributes of one name (`method`, `notes`); in the list of a class its own is meant.
suppress_warnings = ["ref.python"]
# Types in docstrings are words for people; links to our own names must work.
nitpick_ignore_regex = [(r"py:class", r"(?!foldless).*")]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_use_rtype = False
default_role = "foldless"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "doc_module": ("foldless",),
    "backreferences_dir": "gallery/backreferences",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "capture_repr": ("_repr_html_",),
    "matplotlib_animations": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "foldless"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "foldless"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["sphinx-version"],
    "footer_end": [],
    "show_prev_next": True,
    "back_to_top_button": False,
}
html_sidebars = {"index": []}
