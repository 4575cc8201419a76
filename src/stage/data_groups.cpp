// Apart from the exchange itself, which needs no MPI job.
#include <algorithm>

#include "trireme/stage/gradient_exchange.hpp"

namespace trireme {

DataGroups make_data_groups(const Session& session, const std::vector<Bucket>& buckets, Patience patience) {
    DataGroups groups;
    for (const Bucket& bucket : buckets) {
        if (bucket.holders.size() == 1 || groups.contains(bucket.holders)) continue;
        if (!std::ranges::binary_search(bucket.holders, session.rank())) continue;
        groups.emplace(bucket.holders, session.group_of(bucket.holders, "data", patience));
    }
    return groups;
}

}  // namespace trireme
