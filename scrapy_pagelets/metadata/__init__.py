"""What a page says of itself: headline, byline, dates, breadcrumbs."""
