"""The replication of the paper: configurations, data, fits, tables, claims, figures and the report.

It uses ``kgl`` as any user would, and is never installed: it runs from a checkout.
"""
