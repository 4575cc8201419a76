#include "train/node_share.hpp"
#include "trireme/train/specimen.hpp"

namespace trireme {

int threads_of_rank(const RunConfig& config, const Session& session) {
    const auto control = session.all_ranks("control", {});
    return threads_per_rank(config, session, *control);
}

}  // namespace trireme
