// A shared library that is loaded on first use, so that a program starts without it.
#pragma once

#include <string>
#include <vector>

namespace trireme::device {

class SharedLibrary {
public:
    // Loads the first of `names` that the system finds. Throws ResourceError if there is none; `purpose` is the
    // subject of its message: "sending from GPU to GPU".
    SharedLibrary(const std::vector<std::string>& names, const std::string& purpose);
    ~SharedLibrary();
    SharedLibrary(const SharedLibrary&) = delete;
    SharedLibrary& operator=(const SharedLibrary&) = delete;

    // Sets `function` to the address of the function `name`. Throws ResourceError if the library lacks it.
    template <class Function>
    void load_symbol(const char* name, Function*& function) const {
        function = reinterpret_cast<Function*>(find_symbol(name));
    }

private:
    void* find_symbol(const char* name) const;

    void* handle_ = nullptr;
    std::string name_;
};

}  // namespace trireme::device
