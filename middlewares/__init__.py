"""The download side: menu subdigraphs, stored responses, the response behind an item."""
