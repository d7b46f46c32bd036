{
  "buildDirectoryPath": "/worker/build",
  "grpcServers": [{
    "listenPaths": ["/worker/runner"],
    "authenticationPolicy": { "allow": {} }
  }],
  "readinessCheckingPathnames": ["/var/lib/context-mode/worker/worker.sock"]
}
