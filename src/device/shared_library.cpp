#include "trireme/device/shared_library.hpp"

#include <dlfcn.h>

#include "trireme/base/error.hpp"

namespace trireme::device {

SharedLibrary::SharedLibrary(const std::vector<std::string>& names, const std::string& purpose) {
    // The library is never unloaded, because some libraries leave threads and atexit handlers running.
    constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    std::string complaint;
    for (const std::string& name : names) {
        handle_ = dlopen(name.c_str(), flags);
        name_ = name;
        if (handle_ != nullptr) return;
        complaint = dlerror();
    }
    throw ResourceError(cat(purpose, " needs ", names.front(), ", which was not found (", complaint,
                            "); load its module, or add its folder to LD_LIBRARY_PATH"));
}

SharedLibrary::~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
}

void* SharedLibrary::find_symbol(const char* name) const {
    void* const address = dlsym(handle_, name);
    if (address == nullptr) throw ResourceError(cat(name_, " is too old: it has no ", name));
    return address;
}

}  // namespace trireme::device
