"""The pages of the app in Streamlit, and the parts that they share.

`page.py` defines a page and its state. `result.py` draws a result. The pages of tasks are in
`tasks.py`.
"""
