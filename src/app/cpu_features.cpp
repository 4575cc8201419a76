#include "app/cpu_features.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

// "fpu vme ... avx2", of the first processor; empty if the system does not tell.
std::string features_of_processor() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const bool lists_features = line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0;
        if (lists_features && line.find(':') != std::string::npos) return line.substr(line.find(':') + 1);
    }
    return "";
}

std::string own_host() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

}  // namespace

std::vector<std::string> missing_features(const std::string& required, const std::string& available) {
    const std::vector<std::string> there = words_of(available);
    std::vector<std::string> missing;
    for (const std::string& feature : words_of(required)) {
        if (std::find(there.begin(), there.end(), feature) == there.end()) missing.push_back(feature);
    }
    return missing;
}

void check_features(const BuildFacts& build, const std::string& available, const std::string& host) {
    if (available.empty()) return;
    std::string list;
    for (const std::string& feature : missing_features(build.cpu_features, available)) {
        list += cat(list.empty() ? "" : ", ", feature);
    }
    if (list.empty()) return;
    throw ResourceError(
        cat(host, " lacks ", list, ", which this build of Trireme uses (-march=", build.cpu,
            "); build with -DTRIREME_CPU_ARCH=x86-64-v3, or with the name of the oldest processor "
            "that is to run it"));
}

void check_processor(const BuildFacts& build) { check_features(build, features_of_processor(), own_host()); }

}  // namespace trireme::app
