import java.nio.file.Path;
import org.neo4j.harness.Neo4j;
import org.neo4j.harness.Neo4jBuilders;

/** A Neo4j on a free loopback port until the standard input ends. Argument: its folder. It prints "BOLT" and its address. */
public final class Neo4jEngine {
    public static void main(String[] arguments) throws Exception {
        try (Neo4j server = Neo4jBuilders.newInProcessBuilder(Path.of(arguments[0])).withDisabledServer().build()) {
            System.out.println("BOLT " + server.boltURI());
            System.out.flush();
            while (System.in.read() >= 0) {
                // what is written says nothing
            }
        }
        System.exit(0);
    }
}
