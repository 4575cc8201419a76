#include "trireme/setup/cached_visits.hpp"

#include <algorithm>

#include "trireme/base/numbers.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/sample_homes.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

double predict_placed_share(const Job& job) {
    if (!uses_cache(job.config.policy)) return 0;
    const config::CacheConfig& config = job.config.policy.cache;
    if (config.memory_bytes == 0) return 1;
    const std::size_t nodes = std::min(config.sample_homes, count_nodes(job));  // with different samples
    const std::size_t row_bytes = job.model.width * byte_size(job.dtype);
    double bytes = 0;
    for (const data::Sample& sample : job.samples.train)
        bytes += static_cast<double>(round_up_to_cache_lines(sample.length * row_bytes));
    return std::min(1.0, static_cast<double>(nodes * config.memory_bytes) / bytes);
}

CachedVisits CachedVisits::change_depth(std::size_t visit, int from, int to) const {
    const std::size_t first = std::max(visit, begin);
    if (to < from || from == 0) return {.begin = first, .depth_begin = first};
    return {.begin = depth_begin, .depth_begin = first, .earlier_depth = from};
}

double predict_visited_share(std::size_t begin, std::size_t end, std::size_t visit, std::size_t samples) {
    const std::size_t last = std::min(end, visit / samples * samples);
    if (begin >= last) return 0;
    const std::size_t epoch_end = (begin + samples - 1) / samples * samples;
    const auto count = static_cast<double>(samples);
    if (epoch_end >= last) return static_cast<double>(last - begin) / count;
    if (epoch_end + samples <= last) return 1;
    const double first_part = static_cast<double>(epoch_end - begin) / count;
    const double second_part = static_cast<double>(last - epoch_end) / count;
    return 1 - (1 - first_part) * (1 - second_part);
}

layout::Link find_cache_link(const Job& job) {
    if (job.devices) return job.devices->find_device(0).host.value_or(layout::Link{});
    return job.memory_space == device::MemorySpace::gpu ? find_host_link(job, 0) : layout::Link{};
}

CachedShares predict_cached_shares(const StepSamples& step_samples, std::size_t step, std::size_t samples,
                                   double placed) {
    if (placed == 0) return {};
    const CachedVisits& cached = step_samples.cached;
    CachedShares shares{.placed = placed, .earlier_depth = cached.earlier_depth};
    const std::size_t first_visit = step_samples.count_visits(step);
    for (std::size_t visit = first_visit; visit < first_visit + step_samples.batch; ++visit) {
        const double at_depth = predict_visited_share(cached.depth_begin, first_visit, visit, samples);
        shares.at_depth += at_depth;
        if (cached.earlier_depth > 0)
            shares.at_earlier_depth +=
                predict_visited_share(cached.begin, first_visit, visit, samples) - at_depth;
    }
    const double part = placed / static_cast<double>(step_samples.batch);
    shares.at_depth *= part;
    shares.at_earlier_depth *= part;
    return shares;
}

}  // namespace trireme::setup
