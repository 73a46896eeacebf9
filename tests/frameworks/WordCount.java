import java.io.FileInputStream;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KeyValueMapper;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.ValueMapper;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts the words of one topic into another, one update for each word: `WordCount PROPERTIES SOURCE TARGET`, until it is killed.
 * Compiled by Janino, which a runtime without javac can do: hence no lambdas and no type parameters. The counts are in memory, restored from
 * their changelog at every start, so that RocksDB's 55 MB need not be fetched.
 */
public class WordCount {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.load(new FileInputStream(args[0]));
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        StreamsBuilder builder = new StreamsBuilder();
        KStream lines = builder.stream(args[1]);
        KStream words = lines.flatMapValues(new ValueMapper() {
            public Object apply(Object line) {
                return Arrays.asList(((String) line).split(" "));
            }
        });
        KStream counts = words.groupBy(new KeyValueMapper() {
            public Object apply(Object key, Object word) {
                return word;
            }
        }).count(Materialized.as(Stores.inMemoryKeyValueStore("counts"))).toStream();
        counts.to(args[2], Produced.with(Serdes.String(), Serdes.Long()));
        new KafkaStreams(builder.build(), settings).start();
    }
}
