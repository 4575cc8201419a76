#include "trireme/config/profile_files.hpp"

#include "trireme/base/error.hpp"

namespace trireme::config {

std::string to_string(const RankSpan& ranks) {
    return ranks.first == ranks.last ? cat(ranks.first) : cat(ranks.first, '-', ranks.last);
}

std::string to_string(const ProfileFile& file) {
    return file.ranks ? cat(to_string(*file.ranks), '=', file.path) : file.path;
}

}  // namespace trireme::config
