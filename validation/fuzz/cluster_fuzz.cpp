// Any text is a cluster, or it is refused with a ConfigError.
#include "fuzz/target.hpp"
#include "trireme/plan/cluster.hpp"

void trireme::fuzz::cluster(std::string_view bytes) {
    read_or_refuse(
        [&] { return plan::parse_cluster(bytes, "the input"); },
        [](const plan::Cluster& found) { require(!found.name.empty(), "a cluster without a name"); });
}
