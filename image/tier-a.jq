# Turns an engine's default seccomp profile into one with which commands run in sandbox tier A.
#
#   jq -f image/tier-a.jq /usr/share/containers/seccomp.json > tier-a.json
#
# What is added works in namespaces of the command's own only: nobody in the container has a capability.
["clone", "fsconfig", "fsmount", "fsopen", "mount", "mount_setattr", "move_mount", "open_tree", "pivot_root",
 "sethostname", "setns", "umount2", "unshare"] as $added
| .syscalls |= (map(.names -= $added | select(.names != []))
    + [{names: $added, action: "SCMP_ACT_ALLOW"}])
