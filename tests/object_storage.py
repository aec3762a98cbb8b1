"""A server of S3 on this machine, and its buckets."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import uuid4

import pdanon.datasets
import pytest
from pyarrow import fs

KEY = "KEYOFTESTS"


@pytest.fixture(scope="module")
def server():
    """A server of S3, and the environment that leads pyarrow to it."""
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield server.get_host_and_port()
    server.stop()


@dataclass(frozen=True)
class Bucket:
    """A bucket, the file system of its server, and the address of the server."""

    name: str
    files: fs.FileSystem
    endpoint: str

    def uri(self, path, port=None):
        endpoint = f"127.0.0.1:{port}" if port else self.endpoint
        return f"s3://{self.name}/{path}?endpoint_override={endpoint}&scheme=http"

    def content(self):
        found = self.files.get_file_info(fs.FileSelector(self.name, recursive=True))
        return sorted(info.path.removeprefix(f"{self.name}/") for info in found if info.is_file)


@pytest.fixture
def bucket(server):
    """A new bucket."""
    endpoint = "{}:{}".format(*server)
    files = fs.S3FileSystem(endpoint_override=endpoint, scheme="http", allow_bucket_creation=True)
    bucket = Bucket(f"bucket-{uuid4().hex}", files, endpoint)
    files.create_dir(bucket.name)
    return bucket


def baskets(seed=0):
    return pdanon.datasets.make_baskets(400, 30, random_state=seed)[["items"]]
