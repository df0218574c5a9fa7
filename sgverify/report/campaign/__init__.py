"""The report on a campaign: thousands of combinations of schemes and settings, in tables that a reader can use.

`pages` are its pages, of what `sgverify.evidence.campaign` holds; the evidence itself is in report.json.
"""

from sgverify.report.campaign.pages import render_campaign, render_campaign_markdown

__all__ = ["render_campaign", "render_campaign_markdown"]
