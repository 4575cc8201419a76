#include "trireme/config/profile_files.hpp"

#include "trireme/base/error.hpp"

namespace trireme::config {

std::string text_of(const RankSpan& ranks) {
    return ranks.first == ranks.last ? cat(ranks.first) : cat(ranks.first, '-', ranks.last);
}

std::string text_of(const ProfileFile& file) {
    return file.ranks ? cat(text_of(*file.ranks), '=', file.path) : file.path;
}

}  // namespace trireme::config
