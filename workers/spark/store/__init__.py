"""The samples on disk: Parquet by day, each batch of the topic once, many small files made one."""
