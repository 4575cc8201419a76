#include "train/device_choice.hpp"
#include "train/node_share.hpp"
#include "trireme/train/specimen.hpp"

namespace trireme {

int threads_of_rank(const RunConfig& config, const Session& session) {
    const auto control = session.all_ranks("control", {});
    return threads_per_rank(config, session, *control);
}

RunConfig measured_on(RunConfig config, const Session& session) {
    const auto control = session.all_ranks("control", {});
    config = with_device_of_ranks(std::move(config), session, *control);
    config.run.threads = threads_per_rank(config, session, *control);
    return config;
}

}  // namespace trireme
