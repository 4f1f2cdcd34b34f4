"""The guided tour: five steps on the pages themselves. Its entry point is `bar.draw_tour_bar`."""
