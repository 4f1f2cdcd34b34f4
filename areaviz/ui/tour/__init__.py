"""The guided tour: five steps on the pages themselves. Its entry point is `bar.tour_bar`."""
