"""The guided tour: five steps on the pages themselves; its entry point is `bar.tour_bar`."""
