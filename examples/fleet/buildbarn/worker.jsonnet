{
  "buildDirectories": [{
    "native": {
      "buildDirectoryPath": "/worker/build",
      "cacheDirectoryPath": "/worker/cache",
      "maximumCacheFileCount": 100000,
      "maximumCacheSizeBytes": 10737418240,
      "cacheReplacementPolicy": "LEAST_RECENTLY_USED"
    },
    "runners": [{
      "endpoint": { "address": "unix:///worker/runner" },
      "concurrency": 4,
      "platform": { "properties": [{ "name": "context-mode", "value": "1" }] },
      "workerId": { "hostname": "put a name of this machine here" }
    }]
  }]
}
