"""What runs beside the pages: jobs, reports and analytics."""
