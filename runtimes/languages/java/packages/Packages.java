import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.util.*;
import java.util.jar.*;
import org.apache.maven.repository.internal.MavenRepositorySystemUtils;
import org.codehaus.plexus.*;
import org.eclipse.aether.*;
import org.eclipse.aether.artifact.*;
import org.eclipse.aether.collection.*;
import org.eclipse.aether.graph.Dependency;
import org.eclipse.aether.repository.*;
import org.eclipse.aether.resolution.*;
import org.eclipse.aether.util.filter.DependencyFilterUtils;
import org.eclipse.aether.util.repository.*;

public class Packages {
    static final Path IN = Path.of(System.getenv("IN")), OUT = Path.of(System.getenv("OUT"));
    static final Path TEMPORARY = Path.of(System.getenv("TMPDIR"));
    static final RemoteRepository REGISTRY =
        new RemoteRepository.Builder("registry", "default", System.getenv("REGISTRY"))
            .setSnapshotPolicy(new RepositoryPolicy(false, null, null)).build();
    static RepositorySystem resolver;
    static DefaultRepositorySystemSession session;

    public static void main(String[] args) throws Exception {
        try {
            trust(Path.of(System.getenv("SSL_CERT_FILE")));
            resolver = new DefaultPlexusContainer(new DefaultContainerConfiguration()
                .setClassPathScanning(PlexusConstants.SCANNING_INDEX).setAutoWiring(true))
                .lookup(RepositorySystem.class);
            session = MavenRepositorySystemUtils.newSession();
            session.setSystemProperties(System.getProperties());
            session.setLocalRepositoryManager(resolver.newLocalRepositoryManager(
                session, new LocalRepository(TEMPORARY.resolve("repository").toFile())));
            session.setChecksumPolicy(RepositoryPolicy.CHECKSUM_POLICY_FAIL);
            session.setArtifactDescriptorPolicy(new SimpleArtifactDescriptorPolicy(true, false));
            session.setIgnoreArtifactDescriptorRepositories(true);  // what a package names
            session.setProxySelector(new JreProxySelector());
            session.setConfigProperty("aether.connector.requestTimeout", 60000);
            if (args[0].equals("lock")) lock(); else fetch();
        } catch (RepositoryException | IllegalArgumentException error) {
            for (Throwable one = error; one != null; one = one.getCause())
                System.err.println(one.getMessage());
            System.exit(1);
        }
    }

    static void lock() throws Exception {
        var wanted = new CollectRequest();
        wanted.addRepository(REGISTRY);
        for (var line : Files.readAllLines(IN.resolve("wanted"))) {
            if (line.isBlank()) continue;
            var parts = line.split(":");
            var version = parts.length > 2 ? parts[2] : "RELEASE";
            wanted.addDependency(new Dependency(
                new DefaultArtifact(parts[0], parts[1], "jar", version), "compile"));
        }
        var runtime = DependencyFilterUtils.classpathFilter("runtime");
        var found = resolver.resolveDependencies(session, new DependencyRequest(wanted, runtime));
        var lines = new ArrayList<String>();
        for (var one : found.getArtifactResults())
            if (one.getArtifact().getExtension().equals("jar"))
                lines.add(check(one.getArtifact()) + " " + digest(one.getArtifact()));
        Files.write(OUT.resolve("packages.lock"), lines);
    }

    static void fetch() throws Exception {
        var jars = Files.createDirectory(OUT.resolve("jars"));
        var names = new ArrayList<String>();
        for (var line : Files.readAllLines(IN.resolve("packages.lock"))) {
            var parts = line.split(" ");
            var wanted = check(new DefaultArtifact(parts[0]));
            var artifact = resolver.resolveArtifact(
                session, new ArtifactRequest(wanted, List.of(REGISTRY), null)).getArtifact();
            if (!digest(artifact).equals(parts[1]))
                throw new IllegalArgumentException("digest mismatch: " + artifact);
            var name = artifact.getGroupId() + "." + artifact.getFile().getName();
            Files.copy(artifact.getFile().toPath(), jars.resolve(name));
            names.add("jars/" + name);
        }
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, String.join(" ", names));
        new JarOutputStream(
            Files.newOutputStream(OUT.resolve("classpath.jar")), manifest).close();
    }

    static Artifact check(Artifact one) {
        for (var part : one.toString().split(":"))
            if (!part.matches("[A-Za-z0-9_][A-Za-z0-9._+-]*"))
                throw new IllegalArgumentException("a name that leads out of its folder: " + one);
        return one;
    }

    static String digest(Artifact one) throws Exception {
        var content = Files.readAllBytes(one.getFile().toPath());
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
    }

    static void trust(Path certificates) throws Exception {
        if (!Files.exists(certificates)) return;
        var store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (var text = Files.newInputStream(certificates)) {
            for (var one : CertificateFactory.getInstance("X.509").generateCertificates(text))
                store.setCertificateEntry(Integer.toString(store.size()), one);
        }
        var path = TEMPORARY.resolve("trusted.p12");
        try (var out = Files.newOutputStream(path)) { store.store(out, "trusted".toCharArray()); }
        System.setProperty("javax.net.ssl.trustStore", path.toString());
        System.setProperty("javax.net.ssl.trustStorePassword", "trusted");
    }
}
