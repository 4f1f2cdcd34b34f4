# The app with its models, for a CPU. hadolint 2.15.1 finds nothing in it; it has not been built yet, so it is untested.
#   docker build --tag areaviz .
#   python -m areaviz serve token token.txt && chmod 644 token.txt
#   docker run --publish 8501:8501 --volume ./token.txt:/run/secrets/token:ro --volume areaviz:/data areaviz
# A container is another machine to its readers, so the app asks for the access token. Readers who reach it by another
# name than localhost: add  python -m areaviz serve --host 0.0.0.0 --token-file /run/secrets/token --allow-host NAME
FROM python:3.11-slim-bookworm

WORKDIR /app
# What people write is kept here: the volume of the command above.
ENV AREAVIZ_ANALYSES=/data PYTHONUNBUFFERED=1

# The packages first: they change seldom, and every one is named by version and SHA-256. PyTorch has an index of its own.
COPY locks/pip.txt locks/torch-cpu.txt locks/run.txt locks/
RUN pip install --no-cache-dir --only-binary=:all: --require-hashes --no-deps -r locks/pip.txt \
    && pip install --no-cache-dir --only-binary=:all: --require-hashes --no-deps \
        --index-url https://download.pytorch.org/whl/cpu -r locks/torch-cpu.txt \
    && pip install --no-cache-dir --only-binary=:all: --require-hashes --no-deps -r locks/run.txt

COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation --editable . \
    && useradd --create-home --uid 10001 areaviz \
    && install --directory --owner areaviz --mode 700 /data

USER 10001
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://localhost:8501/_stcore/health', timeout=4)"]
CMD ["python", "-m", "areaviz", "serve", "--host", "0.0.0.0", "--allow-host", "localhost", "--token-file", "/run/secrets/token"]
